"""The conformance kit: what every scheduler must do, ours and those of other packages.

from mjfl.testing import checks
@pytest.mark.parametrize("check", checks(), ids=lambda check: check.__name__)
def test_contract(check): check(lambda: MyScheduler())
"""

from mjfl.testing.contract import checks

__all__ = ["checks"]
