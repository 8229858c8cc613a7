"""The pages of a study that is labelled in the browser, without a browser."""

from dataclasses import replace

from starlette.testclient import TestClient

from streameval.serving.items import Access
from streameval.serving.links import links_of
from streameval.serving.page_server import application
from streameval.serving.session import LabellingSession
from streameval.study import Study
from streameval.study.tasks import kept_question

TEXTS = ["<script>document.title='run'</script>", "two\nlines", "‮right to left", "é ✓ 漢字"]


class Pages:
    """The pages of a study, and a server that answers them."""

    def __init__(self, folder, people=("ann", "ben"), share=0.0):
        self.study = Study(folder)
        self.links = links_of(folder, people)
        self.session = LabellingSession(
            self.study, self.links, replace(kept_question(self.study), overlap=share), Access()
        )
        self.client = TestClient(application(self.session), "http://localhost", raise_server_exceptions=False)

    def ask(self, path, person="ann", **message):
        headers = {"Authorization": f"Bearer {self.links.token(person)}"}
        return self.client.post(f"/api/{path}", json=message, headers=headers)

    def work(self, *answers, person="ann", tab="t"):
        reply = self.ask("work", person, tab=tab, answers=list(answers))
        assert reply.status_code == 200, reply.text
        return reply.json()

    def state(self):
        return self.client.post("/api/owner", headers={"Authorization": f"Bearer {self.links.owner}"}).json()


def said(task, answer="1", number=0, note=""):
    return {"id": f"answer-{task}-{number}", "task": task, "answer": answer, "note": note, "took": 900, "ago": 5}
