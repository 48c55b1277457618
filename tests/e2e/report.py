"""The report in a real browser: everything of the page is in its one file, hostile text stays text, the curves are drawn."""
import json
import shutil
import subprocess
import sys

from harness import SKIPPED, Folder, Report, lockstep, noise_data, write_job

HOSTILE = "</td><script>document.title='taken over'</script><img src=x onerror=\"document.title='taken over'\">"


def browser():
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


def show(program, page, picture):
    """The page's document after scripts, had there been any, and a picture of it."""
    common = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=2000",
              "--window-size=1000,2500"]
    document = subprocess.run([*common, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120).stdout
    subprocess.run([*common, f"--screenshot={picture}", page.as_uri()], capture_output=True, timeout=120)
    return document


def main():
    program = browser()
    if not program:
        print("report: no browser is installed: the page is NOT looked at\n  hint: scripts/install-deps --browser")
        sys.exit(SKIPPED)
    report = Report("report")
    with Folder() as folder:
        noise_data(folder / "data", 64)
        job = write_job(folder / "job.yaml", arch="mlp", model=", hidden: [16]", steps=40)
        run, page = folder / "run", folder / "page.html"
        trained = lockstep("train", job, "--data", folder / "data", "--run", run, "--snapshots", "every:10")
        audit = lockstep("audit", run, "--data", folder / "data")
        report.check(audit["verdict"] == "match", "an honest run matches", audit)
        (folder / "audit.json").write_text(json.dumps({**audit.json, "platform": HOSTILE}))
        made = lockstep("report", run, "-o", page, "--audit", folder / "audit.json", "--eval",
                        "--data", folder / "data")
        report.check(made.code == 0 and made["covered"] is True, "the page is written and the run is covered", made)
        document = show(program, page, folder / "page.png")
        report.check("<title>Training report:" in document, "the title is the report's, not the hostile text's", None)
        report.check("<script" not in document and "<img" not in document, "the browser found neither script nor picture in the page")
        report.check("document.title=" in document, "the hostile text is shown as text")
        report.check(trained["root"] in document, "the root is on the page")
        report.check(document.count("<svg") == 5 and document.count("<circle") == 10, "five curves, two of them with a mark for each of the five snapshots")
        report.check("http:" not in document and "https:" not in document and "url(" not in document, "nothing is loaded from elsewhere")
        picture = folder / "page.png"
        report.check(picture.exists() and picture.stat().st_size > 20000, "the picture of the page is not an empty one")
        blank = folder / "blank.html"
        blank.write_text("<!DOCTYPE html><title>x</title>")
        show(program, blank, folder / "blank.png")
        report.check((folder / "blank.png").stat().st_size < 20000, "twin: the picture of an empty page is small")
    report.finish()


main()
