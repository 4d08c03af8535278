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

from trimq.codec.sql import lexing
from trimq.codec.sql.building import MOST_NESTED, Building, Unreadable, condition
from trimq.codec.sql.expression import Expression

if TYPE_CHECKING:
    from lark import Lark

# In Java's characters. A longer one could not be stored or evaluated in bounds.
LONGEST_TEXT: Final = 1 << 16
# A token takes up to 20 us.
_TOKENS_PER_STEP: Final = 50
_END: Final = "$END"
_SHOWN: Final = 40
_SIGNS: Final = frozenset({"_NOT", "_PLUS", "_MINUS"})


_GRAMMAR: Final = f"""
?start: any

?any: all
    | any _OR all                                    -> either
?all: equality
    | all _AND equality                              -> both
?equality: comparison
    | equality _EQUAL comparison                        -> equal
    | equality _UNEQUAL comparison                       -> unequal
    | equality _IS _NULL                             -> is_null
    | equality _IS _NOT _NULL                        -> is_not_null
?comparison: unary
    | comparison SIGN unary                          -> ordered
    | comparison PART TEXT                           -> has_part
    | comparison _NOT PART TEXT                      -> has_no_part
    | comparison _BETWEEN unary _AND unary           -> between
    | comparison _NOT _BETWEEN unary _AND unary      -> not_between
    | comparison _IN _OPEN texts _CLOSE                   -> inside
    | comparison _NOT _IN _OPEN texts _CLOSE              -> not_inside
texts: TEXT (_COMMA TEXT)*
?unary: primary
    | _PLUS unary                                      -> plus
    | _MINUS unary                                      -> minus
    | _NOT unary                                     -> negation
?primary: TEXT                                       -> text
    | WHOLE                                          -> whole
    | BROKEN                                         -> broken
    | _TRUE                                          -> true
    | _FALSE                                         -> false
    | _NULL                                          -> null
    | NAME                                           -> name
    | _OPEN any _CLOSE                                    -> group

%declare {" ".join(lexing.NAMES)}
"""

# How a refusal calls what was expected.
_CALLED: Final = {
    "TEXT": "a 'text'",
    "WHOLE": "a number",
    "BROKEN": "a number",
    "NAME": "a name",
    "SIGN": "< <= > >=",
    "PART": "CONTAINS STARTSWITH ENDSWITH",
    "_EQUAL": "=",
    "_UNEQUAL": "<>",
    "_OPEN": "(",
    "_CLOSE": ")",
    "_COMMA": ",",
    "_PLUS": "+",
    "_MINUS": "-",
    _END: "the end",
}


@cache
def load() -> "Lark":
    """Load lark and make its tables, once: a tenth of a second, so not on an event loop."""
    from lark import Lark
    from lark.lexer import Lexer

    class Elsewhere(Lexer):
        """In place of lark's lexer: the parser is fed."""

        def __init__(self, configuration: Any) -> None: ...

        def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
            return iter(())

    # Whatever its types say, it takes any object with a method for each rule.
    building: Any = Building()
    return Lark(_GRAMMAR, parser="lalr", lexer=Elsewhere, transformer=building)


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
        # What can only become an expression that is nested too deeply is refused while it is read.
        self._open = 0
        self._signs = 0
        # The token behind the expression, which is ignored.
        self._unfit: Any = None

    def steps(self) -> Iterator[int]:
        """Read on; says every millisecond or so how many characters it has read since. Unreadable ends it."""
        from lark import UnexpectedToken

        length = len(self._text.encode("utf-16-le", "surrogatepass")) // 2
        if length > LONGEST_TEXT:
            raise Unreadable(
                f"an expression of {length} characters is beyond the {LONGEST_TEXT} allowed"
            )
        # Parts of it have no types.
        parser: Any = load().parse_interactive("")
        read = 0
        try:
            for number, (token, end) in enumerate(self._tokens(), 1):
                if token is not None and not self._goes_on(parser, token):
                    break
                if number % _TOKENS_PER_STEP == 0:
                    yield end - read
                    read = end
            found = parser.feed_eof()
        except lexing.NoToken as error:
            raise Unreadable(
                f"at character {error.at + 1}: nothing begins with {self._text[error.at]!r} here"
            ) from None
        except UnexpectedToken as error:
            raise Unreadable(_unexpected(error.expected, self._unfit or error.token)) from None
        self.expression = Expression(self._text, condition(found))

    def _tokens(self) -> Iterator[tuple[Any, int]]:
        """Each with its end; None in place of what is skipped."""
        from lark import Token

        for name, start, end in lexing.tokens(self._text):
            if name:
                self._check_nesting(name)
            yield (Token(name, self._text[start:end], start) if name else None), end

    def _goes_on(self, parser: Any, token: Any) -> bool:
        """Whether the token continues the expression; if not, it is complete without it."""
        from lark import UnexpectedToken

        try:
            parser.feed_token(token)
        except UnexpectedToken as error:
            if _END not in error.expected:
                raise
            self._unfit = token
            return False
        return True

    def _check_nesting(self, name: str) -> None:
        """Parentheses that are open, and signs and NOT in a row: each is one level."""
        if name == "_OPEN":
            self._open += 1
        elif name == "_CLOSE":
            self._open -= 1
        self._signs = self._signs + 1 if name in _SIGNS else 0
        if max(self._open, self._signs) > MOST_NESTED:
            raise Unreadable(f"conditions are nested more than {MOST_NESTED} deep")


def _unexpected(expected: Iterable[str], token: Any) -> str:
    called = {_CALLED.get(name, name.removeprefix("_")) for name in expected}
    if token.type == _END:
        where, found = "at the end", "nothing"
    else:
        where, found = f"at character {token.start_pos + 1}", repr(str(token)[:_SHOWN])
    return f"{where}: expected {' or '.join(sorted(called))}, not {found}"
