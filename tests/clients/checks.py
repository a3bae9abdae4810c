"""What the checks of both Python clients share: the server's address and the report of outcomes.

Each line of the output is a JSON object. The first line is {"checks": the number of checks}. When a
check ends, a line {"name": ..., "error": its traceback or null} follows.
"""

import json
import os
import socket
import sys
import traceback
import unittest
import uuid
from datetime import datetime, timedelta, timezone
from urllib.parse import urlsplit

URL = os.environ["ENTITABLE_URL"]  # of the account, by path
ACCOUNT = os.environ["ENTITABLE_ACCOUNT"]
KEY = os.environ["ENTITABLE_KEY"]
SECURE_URL = os.environ["ENTITABLE_SECURE_URL"]  # of a server with the same account and a certificate
CERTIFICATE = os.environ["ENTITABLE_CERTIFICATE"]

# The account's URL as in production, with the account's name in the host. All such hosts resolve
# to this machine.
HOST_URL = f"http://{ACCOUNT}.table.core.windows.net:{urlsplit(URL).port}"
find_address = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: find_address(
    "127.0.0.1" if str(host).endswith(".table.core.windows.net") else host, *rest, **more)

CONNECTION = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={URL}"

# Keys that must come back unchanged through URLs, filters and JSON.
ODD_KEYS = ["o'neil", "a b", "100%", "%41", "a+b&c=d", "ü ß 中 😀", "(1,2)", "~!@$^*;:,."]

STRING = "it's \"so\" – ü 😀\t<&>"
GUID = uuid.UUID("c9da6455-213d-42c9-9a79-3e9149a57833")
WHEN = datetime(2016, 2, 29, 23, 59, 59, 987654, tzinfo=timezone.utc)


def from_now(hours):
    return datetime.utcnow() + timedelta(hours=hours)


class Teller(unittest.TestResult):
    """Prints the outcome of each check when the check ends."""

    def __init__(self):
        super().__init__()
        self._error = None

    def startTest(self, test):
        super().startTest(test)
        self._error = None

    def stopTest(self, test):
        super().stopTest(test)
        name = f"{type(test).__name__}: {test._testMethodName[len('test_'):].replace('_', ' ')}"
        print(json.dumps({"name": name, "error": self._error}), flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        self._error = "".join(traceback.format_exception(*err))

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.addError(subtest, err)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(json.dumps({"checks": suite.countTestCases()}), flush=True)
    suite.run(Teller())
