"""The language of SQL92 filters (SelectorParser), and reading a text by it, in steps.

Loosest first: OR; AND; `=` `<>` IS [NOT] NULL; `>` `>=` `<` `<=`, [NOT] CONTAINS, STARTSWITH, ENDSWITH 'text',
[NOT] BETWEEN a AND b, [NOT] IN ('a', 'b'); unary + - NOT; literals, names, parentheses. Key words in any
case. There is no LIKE, no arithmetic and no function.

What follows a complete expression is ignored, as there, if its first token can be read and could not
continue the expression.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from trimq.codec.sql.building import Building, Unreadable, condition
from trimq.codec.sql.expression import Expression

if TYPE_CHECKING:
    from lark import Lark

# In Java's characters. A longer one could not be stored or evaluated in bounds.
LONGEST_TEXT: Final = 1 << 16
# A token takes up to 20 us.
_TOKENS_PER_STEP: Final = 50
_END: Final = "$END"
_SHOWN: Final = 40


def _word(text: str) -> str:
    """A key word in any case that is not the beginning of a name. Python's own `(?i)` knows more letters."""
    either = "".join(f"[{letter}{letter.lower()}]" for letter in text)
    return f"/{either}(?![A-Za-z0-9_$])/"


_GRAMMAR: Final = rf"""
?start: any

?any: all
    | any _OR all                                    -> either
?all: equality
    | all _AND equality                              -> both
?equality: comparison
    | equality "=" comparison                        -> equal
    | equality "<>" comparison                       -> unequal
    | equality _IS _NULL                             -> is_null
    | equality _IS _NOT _NULL                        -> is_not_null
?comparison: unary
    | comparison SIGN unary                          -> ordered
    | comparison PART TEXT                           -> has_part
    | comparison _NOT PART TEXT                      -> has_no_part
    | comparison _BETWEEN unary _AND unary           -> between
    | comparison _NOT _BETWEEN unary _AND unary      -> not_between
    | comparison _IN "(" texts ")"                   -> inside
    | comparison _NOT _IN "(" texts ")"              -> not_inside
texts: TEXT ("," TEXT)*
?unary: primary
    | "+" unary                                      -> plus
    | "-" unary                                      -> minus
    | _NOT unary                                     -> negation
?primary: TEXT                                       -> text
    | WHOLE                                          -> whole
    | BROKEN                                         -> broken
    | _TRUE                                          -> true
    | _FALSE                                         -> false
    | _NULL                                          -> null
    | NAME                                           -> name
    | "(" any ")"                                    -> group

_NOT.3: {_word("NOT")}
_AND.3: {_word("AND")}
_OR.3: {_word("OR")}
_BETWEEN.3: {_word("BETWEEN")}
_IN.3: {_word("IN")}
_TRUE.3: {_word("TRUE")}
_FALSE.3: {_word("FALSE")}
_NULL.3: {_word("NULL")}
_IS.3: {_word("IS")}
PART.3: {_word("CONTAINS")} | {_word("STARTSWITH")} | {_word("ENDSWITH")}
SIGN: ">=" | "<=" | ">" | /<(?!>)/
BROKEN.2: /[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+/
WHOLE.1: /0|[1-9][0-9]*[lL]?/
TEXT: /'(?:[^']|'')*'/
NAME: /[A-Za-z_$][A-Za-z0-9_$]*/

BLANKS.4: /[ \t\n\r\f]+/
LINE.4: /--[^\n\r]*(?:\r\n|\n|\r)/
REMARK.4: /\/\*[^*]*\*(?:\*|[^*\/][^*]*\*)*\//
%ignore BLANKS
%ignore LINE
%ignore REMARK
"""

# How a refusal calls what was expected.
_CALLED: Final = {
    "TEXT": "a 'text'",
    "WHOLE": "a number",
    "BROKEN": "a number",
    "NAME": "a name",
    "SIGN": "< <= > >=",
    "PART": "CONTAINS STARTSWITH ENDSWITH",
    "EQUAL": "=",
    "__ANON_0": "<>",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "PLUS": "+",
    "MINUS": "-",
    _END: "the end",
}


@cache
def load() -> "Lark":
    """Load lark and make its tables, once: a tenth of a second, so not on an event loop."""
    from lark import Lark

    # Whatever its types say, it takes any object with a method for each rule.
    building: Any = Building()
    return Lark(_GRAMMAR, parser="lalr", lexer="basic", transformer=building)


def is_loaded() -> bool:
    return load.cache_info().currsize > 0


def parse(text: str) -> Expression:
    """The expression; Unreadable says what was expected where."""
    parsing = Parsing(text)
    for _ in parsing.steps():
        pass
    return parsing.expression


class Parsing:
    """Reading one text. `expression` is there when all steps are done."""

    expression: Expression

    def __init__(self, text: str) -> None:
        self._text = text

    def steps(self) -> Iterator[None]:
        """Read on; pauses every millisecond or so. Unreadable ends it."""
        from lark import UnexpectedCharacters, UnexpectedToken

        length = len(self._text.encode("utf-16-le", "surrogatepass")) // 2
        if length > LONGEST_TEXT:
            raise Unreadable(
                f"an expression of {length} characters is beyond the {LONGEST_TEXT} allowed"
            )
        # Parts of it have no types.
        parser: Any = load().parse_interactive(self._text)
        unfit = None
        try:
            tokens = parser.lexer_thread.lex(parser.parser_state)
            for number, token in enumerate(tokens, 1):
                try:
                    parser.feed_token(token)
                except UnexpectedToken as error:
                    if _END not in error.expected:
                        raise
                    unfit = token
                    break
                if number % _TOKENS_PER_STEP == 0:
                    yield
            found = parser.feed_eof()
        except UnexpectedCharacters as error:
            at = error.pos_in_stream or 0
            raise Unreadable(
                f"at character {at + 1}: nothing begins with {self._text[at]!r} here"
            ) from None
        except UnexpectedToken as error:
            raise Unreadable(_unexpected(error.expected, unfit or error.token)) from None
        self.expression = Expression(self._text, condition(found))


def _unexpected(expected: Iterable[str], token: Any) -> str:
    called = {_CALLED.get(name, name.removeprefix("_")) for name in expected}
    if token.type == _END:
        where, found = "at the end", "nothing"
    else:
        where, found = f"at character {token.start_pos + 1}", repr(str(token)[:_SHOWN])
    return f"{where}: expected {' or '.join(sorted(called))}, not {found}"
