"""Names of what `make wheels` builds, and what they mean."""

from __future__ import annotations

import sysconfig

import pytest

from releasing import targets
from releasing.targets import CannotBuild, Compiled, chosen, compiled, every


def test_a_name_says_which_python_and_which_processor() -> None:
    one = compiled("cp313-aarch64")
    assert one == Compiled("3.13", "aarch64")
    assert one.name == "cp313-aarch64"
    assert one.suffix == ".cpython-313-aarch64-linux-gnu.so"
    assert one.compiler_target == "aarch64-linux-gnu.2.17"
    assert one.platform == "manylinux_2_17_aarch64"


def test_the_suffix_is_what_that_python_loads() -> None:
    version = "{}.{}".format(*__import__("sys").version_info)
    machine = sysconfig.get_platform().removeprefix("linux-")
    if machine not in targets.MACHINES:
        pytest.skip("no Linux on a processor that wheels are built for")
    assert Compiled(version, machine).suffix == sysconfig.get_config_var("EXT_SUFFIX")


@pytest.mark.parametrize("name", [targets.PURE, targets.SDIST, "cp311", "cp3-x86_64", "311-x86_64"])
def test_other_names_are_no_compiled_wheels(name: str) -> None:
    assert compiled(name) is None


def test_everything_has_a_name_of_its_own() -> None:
    names = every()
    assert len(names) == len(set(names)) > 6
    assert names[:2] == ["sdist", "pure"]
    assert {"cp311-x86_64", "cp311-aarch64", "cp313-x86_64"} <= set(names)
    assert [found.name for name in names if (found := compiled(name))] == names[2:]


def test_without_a_choice_everything_is_built() -> None:
    assert chosen([]) == every()
    assert chosen(["cp311-x86_64", "sdist"]) == ["sdist", "cp311-x86_64"]


@pytest.mark.parametrize("name", ["", "cp310-x86_64", "cp311-riscv64", "wheel", "CP311-x86_64"])
def test_an_unknown_name_is_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(CannotBuild, match=f"--only {name}: it is one of sdist, pure, cp311-x86_64"):
        chosen([name])
