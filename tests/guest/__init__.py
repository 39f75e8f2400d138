"""An emulated SMT guest: siblings that physically share one CPU of this machine.

A software-emulated (TCG) machine whose virtual CPUs are pinned in twos to the same CPU of the host. Its
kernel knows cores and threads and places by them; two busy siblings run at about half speed, with more CPU time, no
run delay and no steal, as on a host with hyperthreads. It is *emulated SMT*: siblings share one CPU, a second
thread adds nothing. ``emulated`` builds and starts it, ``experiment`` measures in it.

    python -m guest --out FILE.json.gz [--hidden]    needs the packages of emulated.PACKAGES, and 10 minutes
    python -m guest --out FILE.json.gz --vary        the same under SMT off, one per core, spread and pack: 20 minutes
    python -m guest --out FILE.txt --undo            switches SMT off and kills the driver at every step
    python -m guest --out FILE.json.gz --nodes       two memory nodes: where memory is, interrupts moved and put back
"""
