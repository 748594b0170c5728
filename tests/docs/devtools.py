# SPDX-License-Identifier: MIT
"""A headless Chromium, driven through the DevTools protocol over two pipes."""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time


def find():
    """The browser's path, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One browser with one page. Use it in a `with` statement."""

    def __init__(self, width=1400, height=1000):
        self.profile = tempfile.TemporaryDirectory(prefix="xio-chromium-")
        near = [*os.pipe(), *os.pipe()]
        to_browser, self.requests, self.answers, from_browser = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 20) for one in near)
        for one in near:
            os.close(one)
        # The browser reads descriptor 3 and writes descriptor 4; the shell moves the pipes' ends there.
        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--allow-file-access-from-files", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}",
                   f"--window-size={width},{height}", "about:blank"]
        self.log = open(os.path.join(self.profile.name, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"', "bash", *command],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.requests)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answers)
        self.log.close()
        try:
            self.profile.cleanup()
        except OSError:
            shutil.rmtree(self.profile.name, ignore_errors=True)

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.answers, 1 << 20)
            if not more:
                self.log.seek(0)
                raise RuntimeError("the browser has ended: " + self.log.read()[-1000:])
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.requests, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState == 'complete' && location.href != 'about:blank'")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=20):
        """The first value of the expression that is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.value(expression)
            if value:
                return value
            time.sleep(0.1)
        raise RuntimeError(f"after {seconds} s still not: {expression}")

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
