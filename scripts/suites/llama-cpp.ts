// Installs llama.cpp from pip's index (100 MB) with `engines install llama.cpp`, and serves with it on the
// CPU.
// Needs uv, or Python 3.10 or newer with venv.
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'

await runSuite('llama-cpp', () => runCommand('vitest', ['run', '--project', 'llama-cpp']))
