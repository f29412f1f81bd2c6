"""Makes both models from nothing: the dialogues, the training, the files. `python3 training/make.py`"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

for script in ('write_corpus.py', 'train.py', 'train_embedding.py'):
    subprocess.run([sys.executable, HERE / script], check=True)
