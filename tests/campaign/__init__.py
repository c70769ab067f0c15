"""A bounded, seeded fuzzing of the whole program, with oracles: `python -m tests.campaign`.

Thousands of files, command lines, Python calls, damaged model folders and places to save to; kills at every moment of a
run, full disks, two processes at once. Each case ends in one verdict (`verdicts`), each can be run again alone
(`--only FAMILY:SEED`), and the campaign succeeds only if nothing ended in a traceback, silently wrong, lost or hung.
"""
