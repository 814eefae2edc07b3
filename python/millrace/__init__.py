"""Training loops in Python as workers of a millrace group.

The group's protocol runs in the local agent, a process of the `millrace` binary:

    millrace agent --workers 3 -- python train.py

starts three workers of one group on this machine and tells each where its agent is. Gradients lie in
memory that the agent maps, too. `Worker` is the whole of it for numpy; `millrace.torch.Worker` does the
same for a PyTorch model and its optimizer.
"""

from .connection import AgentError, AgentLost
from .order import order
from .worker import Outcome, Result, Step, Worker

__all__ = ["AgentError", "AgentLost", "Outcome", "Result", "Step", "Worker", "order"]
__version__ = "0.1.0"
