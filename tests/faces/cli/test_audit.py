"""`clew audit` as a table and as a page."""

from tests.faces.cli.conftest import Shell, Writer

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_the_exit_code_says_whether_a_finding_is_severe(clew: Shell, write: Writer) -> None:
    project = clew.directory
    (project / ".git").mkdir()
    write(project / "CLAUDE.md", "# Relay\n\n- Deploys happen on Tuesdays only\n- Deploys happen on Tuesdays, only\n")
    done = clew("audit", "CLAUDE.md", "--html", "report.html")
    assert done.code == 0, done.err
    assert "CLAUDE.md:3" in (project / "report.html").read_text()
    write(project / "CLAUDE.md", f"- The staging token is {TOKEN} for now\n")
    done = clew("audit", "CLAUDE.md")
    assert done.code == 1 and "secret" in done.out and TOKEN not in done.out
