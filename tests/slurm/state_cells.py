"""Twenty cells of real work that build on each other; what each prints is the same in every undisturbed run."""

CELLS = [
    "import torch, random, warnings, numpy as np, pandas as pd\n"
    "warnings.filterwarnings('ignore', 'Seems like .optimizer.step')  # torch's own pickle of an optimizer forgets who watches its steps\n"
    "torch.manual_seed(1); random.seed(2); np.random.seed(3)\n"
    "torch.set_default_dtype(torch.float64)",
    "x = torch.randn(256, 8)\ny = (x @ torch.arange(8.0)).unsqueeze(1) + 0.1 * torch.randn(256, 1)\nfirst_rows = x[:4]\nprint(x.sum().item())",
    "class Net(torch.nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
    "        self.layers = torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))\n"
    "    def forward(self, rows): return self.layers(rows)",
    "model = Net(16)\nhead = model.layers[2].weight\nprint(sum(p.numel() for p in model.parameters()))",
    "optimizer = torch.optim.Adam(model.parameters(), lr=0.01)\nscheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)\nhistory = []",
    "from torch.utils.data import DataLoader, TensorDataset\nloader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)",
    "def epoch():\n    total = 0.0\n    for rows, targets in loader:\n        optimizer.zero_grad()\n"
    "        loss = torch.nn.functional.mse_loss(model(rows), targets)\n        loss.backward()\n        optimizer.step()\n"
    "        total += loss.item()\n    scheduler.step()\n    history.append(total)\n    return total",
    "print(epoch())",
    "print(epoch(), scheduler.get_last_lr())",
    "print(head is model.layers[2].weight, optimizer.param_groups[0]['params'][2] is head, head.grad.abs().sum().item())",
    "first_rows.zero_()\nprint(x[:4].abs().sum().item(), loader.dataset.tensors[0] is x)",
    "def counter():\n    count = 0\n    def up():\n        nonlocal count\n        count += 1\n        return count\n"
    "    def now(): return count\n    return up, now\nup, now = counter()\nup()",
    "up()\nprint(up(), now())",
    "from dataclasses import dataclass, field\n@dataclass\nclass Run:\n    name: str\n    losses: list = field(default_factory=list)\n"
    "runs = [Run('a', history), Run('b')]",
    "epoch()\nprint(len(runs[0].losses), runs[0].losses is history, isinstance(runs[1], Run))",
    "frame = pd.DataFrame({'loss': history, 'epoch': range(len(history))})\nlosses = frame['loss']\nprint(frame.shape, float(losses.sum()))",
    "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\n(line,) = axes.plot(history)\nplt.close(figure)",
    "line.set_label('loss')\nprint(axes.get_lines()[0] is line, axes.figure is figure, axes.get_lines()[0].get_label())",
    "print(random.random(), np.random.rand(), torch.rand(1).item(), torch.get_default_dtype())",
    "print(epoch(), float(sum(p.detach().sum() for p in model.parameters())))",
]
