#!/usr/bin/env python3
"""Opens the page in browsers with other engines: Firefox, and WebKit as GTK's small browser has it.

    Tests/Page/run-engines [firefox|webkit]

What is tested in detail, browser.py tests in Chromium; this finds what another engine does not know or permit.
VAULTFMT_BINARY is the command that makes the vaults.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import time

import vaults

WEBKIT_BROWSER = "/usr/lib/{}-linux-gnu/webkit2gtk-4.1/MiniBrowser"
DOWN = "\ue015"
ENTER = "\ue007"


class Firefox:
    """Firefox without a window, by its own protocol: Debian has no driver for it."""

    def __init__(self, folder):
        from marionette_driver.marionette import Marionette

        # The log must be a file of our own: Marionette removes what has its name.
        self.marionette = Marionette(
            bin=shutil.which("firefox-esr"), headless=True, gecko_log=str(folder / "firefox.log")
        )
        self.marionette.start_session()
        self.go = self.marionette.navigate

    def script(self, text, *values):
        return self.marionette.execute_script(text, script_args=values, sandbox=None)

    def find(self, selector):
        return self.marionette.find_element("css selector", selector)

    def end(self):
        self.marionette.quit()
        self.marionette.cleanup()


class WebKit:
    """WebKitGTK's MiniBrowser. It needs a display: xvfb-run has one."""

    def __init__(self, _folder):
        from selenium import webdriver
        from selenium.webdriver.webkitgtk.options import Options
        from selenium.webdriver.webkitgtk.service import Service

        options = Options()
        options.binary_location = WEBKIT_BROWSER.format(os.uname().machine)
        options.add_argument("--automation")
        self.driver = webdriver.WebKitGTK(options=options, service=Service("/usr/bin/WebKitWebDriver"))
        self.go = self.driver.get
        self.script = self.driver.execute_script

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def end(self):
        self.driver.quit()


ENGINES = {"firefox": Firefox, "webkit": WebKit}


def wait(engine, condition, text):
    """Waits until an expression of the page is true."""
    end = time.monotonic() + 60
    while not engine.script(f"return !!({condition});"):
        if time.monotonic() > end:
            raise AssertionError(f"{text}: {engine.script('return document.body.innerText;')[:400]}")
        time.sleep(0.05)


def shown(sheet):
    return f"!document.getElementById('{sheet}').hidden"


def status(text):
    return f"document.getElementById('status').textContent.includes('{text}')"


def row(name, label):
    """An expression for a button of a row of the details."""
    return (
        "[...[...document.querySelectorAll('.value-row')]"
        f".find(row => row.firstChild.textContent.startsWith('{name}')).querySelectorAll('button')]"
        f".find(button => button.textContent === '{label}')"
    )


def try_page(engine, page, made):
    engine.go(page.as_uri())
    engine.script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', event => violations.push(event.violatedDirective));"
    )
    wait(engine, shown("unlock"), "the form is not shown")
    began = time.monotonic()
    engine.find("#passphrase").send_keys(vaults.PASSPHRASE + ENTER)
    wait(engine, shown("opened"), "the passphrase does not open the vault")
    print(f"    opened after {time.monotonic() - began:.1f} s")
    wait(engine, status("5 items"), "the items are not listed")

    engine.find("#search").send_keys("github" + DOWN + ENTER)
    wait(engine, "document.querySelector('#details h2')?.textContent === 'GitHub'", "the item is not shown")
    for label, place, expected in (("secret", ".secret", vaults.SECRET), ("one-time code", ".code", "")):
        engine.script(f"{row(label, 'Show')}.click();")
        wait(
            engine, f"document.querySelector('{place}').textContent.includes('{expected}')", f"the {label} is not shown"
        )
    wait(engine, r"/^\d{8}$/.test(document.querySelector('.code').textContent)", "the one-time code is not shown")
    engine.script(f"{row('secret', 'Copy')}.id = 'copy';")
    engine.find("#copy").click()
    wait(engine, status("Copied"), "the secret is not copied")

    engine.find("#lock").click()
    wait(engine, shown("unlock"), "the vault is not locked")
    engine.find("#key-file").send_keys(str(made.key_file))
    engine.find("#open").click()
    wait(engine, shown("opened"), "the key file does not open the vault")
    refused = engine.script("return window.violations;")
    if refused:
        raise AssertionError(f"the policy refused {refused}")


def main():
    names = sys.argv[1:] or list(ENGINES)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = vaults.Vaults(folder, os.environ["VAULTFMT_BINARY"])
        page = vaults.page_with(made.everyday("--kdf", "moderate")[0], folder / "everyday.html")
        for name in names:
            engine = ENGINES[name](folder)
            try:
                try_page(engine, page, made)
                print(f"ok      {name}")
            except AssertionError as error:
                failed += 1
                print(f"FAILED  {name}: {error}")
            finally:
                engine.end()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
