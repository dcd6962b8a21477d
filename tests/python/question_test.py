"""What a user asks pounced is answered, also when pounced dies between question and answer."""

from __future__ import annotations

import pytest

ASK_AND_KILL = """
    import signal, threading
    client = pounce.Client()
    client.submit(pow, 2, 3).result(60)
    client.options(name='before').submit(pow, 2, 4).result(60)
    session, asked, answers = client._session, threading.Event(), []
    ask = session.ask

    def watched(question, timeout):
        def sent(*request):
            connection = question(*request)
            if connection: asked.set()
            return connection
        return ask(sent, timeout)

    session.ask = watched
    pounced = pounced_pid()
    os.kill(pounced, signal.SIGSTOP)
    asking = threading.Thread(target=lambda: answers.append({question}))
    asking.start()
    asked.wait(30)
    os.kill(pounced, signal.SIGKILL)
    asking.join(60)
    report(answers=answers)
"""


@pytest.mark.parametrize("question, answer", [
    ("len(client.queue()) > 0", True),
    ("client.options(name='asked').submit(pow, 2, 5).result(60)", 32),
    ("client.attach('before').forget()", None),
])
def test_a_question_whose_answer_was_lost_with_pounced_is_asked_again(home, question, answer):
    run = home.run(ASK_AND_KILL.format(question=question))

    assert run.reports["answers"] == [answer]


def test_an_answer_that_comes_after_its_question_was_given_up_is_not_kept(home):
    run = home.run("""
        import signal
        client = pounce.Client()
        pounced = pounced_pid()
        client.queue()
        os.kill(pounced, signal.SIGSTOP)
        given_up = error_of(lambda: client._session.queue(0.3))["type"]
        os.kill(pounced, signal.SIGCONT)
        report(given_up=given_up, rows=len(client.queue()), kept=len(client._session._questions._answers))
    """)

    assert run.reports == {"given_up": "DaemonUnavailable", "rows": 0, "kept": 0}
