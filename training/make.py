"""Builds both models from scratch: corpus, training, GGUF files. Usage: `python3 training/make.py`"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

for script in ('write_corpus.py', 'train.py', 'train_embedding.py'):
    subprocess.run([sys.executable, HERE / script], check=True)
