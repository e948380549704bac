"""Drives a headless Chromium through chromedriver's WebDriver protocol; standard library only."""
import base64
import contextlib
import json
import re
import subprocess
import time
import urllib.error
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--disable-background-networking", "--disable-dev-shm-usage",
         "--allow-file-access-from-files"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key the protocol gives element references


class Browser:
    def __init__(self, profile_directory, width=1400, height=900):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        for line in self.driver.stdout:
            match = re.search(r"successfully on port (\d+)", line)
            if match:
                break
        else:
            raise RuntimeError("chromedriver did not start")
        self.base = f"http://127.0.0.1:{match.group(1)}"
        options = {"args": FLAGS + [f"--window-size={width},{height}",
                                    f"--user-data-dir={profile_directory}"]}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                        "goog:loggingPrefs": {"browser": "ALL"}}
        made = self.begin({"capabilities": {"alwaysMatch": capabilities}})
        self.session = "/session/" + made["sessionId"]

    def begin(self, wanted):
        """Chromedriver gives Chromium a minute to start, which a busy machine may not have."""
        for attempt in range(3):
            try:
                return self.call("POST", "/session", wanted)
            except RuntimeError as error:
                if attempt == 2 or "session not created" not in str(error):
                    self.driver.terminate()
                    self.driver.wait()
                    raise

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a function body run in the page."""
        return self.call("POST", self.session + "/execute/sync",
                         {"script": script, "args": list(arguments)})

    def devtools(self, command, **parameters):
        """A command of Chromium's own protocol, for what WebDriver has no words for."""
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def until(self, script, *arguments, seconds=60):
        """Waits until the script's value is true, and returns it."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise RuntimeError(f"never became true: {script}")
            time.sleep(0.05)

    def settled(self, script, *arguments, seconds=30):
        """The value of a script once it is empty, or what it stays at: layout follows a new size of the window."""
        end = time.monotonic() + seconds
        while (value := self.run(script, *arguments)) and time.monotonic() < end:
            time.sleep(0.05)
        return value

    def find(self, selector):
        found = self.call("POST", self.session + "/element",
                          {"using": "css selector", "value": selector})
        return found[ELEMENT]

    def click(self, selector):
        self.call("POST", f"{self.session}/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.call("POST", f"{self.session}/element/{self.find(selector)}/value", {"text": text})

    def drag(self, selector, start, end):
        """Drags inside an element, from and to offsets in pixels from its top left corner."""
        box = self.run("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                       "return [b.left, b.top]", selector)
        point = lambda place: {"type": "pointerMove", "duration": 30, "origin": "viewport",
                               "x": round(box[0] + place[0]), "y": round(box[1] + place[1])}
        actions = [point(start), {"type": "pointerDown", "button": 0}, point(end),
                   {"type": "pointerUp", "button": 0}]
        self.call("POST", self.session + "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "actions": actions}]})

    def resize(self, width, height):
        self.call("POST", self.session + "/window/rect", {"width": width, "height": height})
        self.until("return Math.abs(window.outerWidth - arguments[0]) < 2", width)

    @contextlib.contextmanager
    def emulated(self, width, height):
        """A window of any size: those of a desktop have at least 500 pixels."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        try:
            yield
        finally:
            self.devtools("Emulation.clearDeviceMetricsOverride")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def paper(self, path):
        """Prints the page into a PDF file."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("POST", self.session + "/print", {})))

    def errors(self):
        """What the page complained of since the last call."""
        log = self.call("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
