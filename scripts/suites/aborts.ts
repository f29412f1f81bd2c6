// Sends random requests to an engine through a full server, leaves at random, and compares the bill with the
// engine's totals: `-- --engine embedded|llama-server|vllm --rounds 1000 --seed N`. Needs
// LLAMA_SERVER_COMMAND for llama-server, and the requirements of `npm run test:vllm` for vLLM.
import { parseArgs } from 'node:util'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'
import { installVllm } from './vllm-environment.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'embedded' },
    rounds: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 32)) },
  },
})
const { engine, rounds, seed } = values

await runSuite('aborts', async () => {
  if (!['embedded', 'llama-server', 'vllm'].includes(engine)) {
    throw new Error('--engine must be embedded, llama-server or vllm.')
  }
  if (!(Number(rounds) >= 1) || !(Number(seed) >= 0)) throw new Error('--rounds and --seed must be numbers.')
  if (engine === 'llama-server' && process.env['LLAMA_SERVER_COMMAND'] === undefined) {
    throw new Error('Set LLAMA_SERVER_COMMAND to the path of llama-server.')
  }
  const installed = engine === 'vllm' ? await installVllm() : null
  await runCommand(
    'vitest',
    ['run', '--project', 'slow', 'server/test/metering/aborted-requests.slow.test.ts'],
    {
      TEST_ABORTS: rounds,
      TEST_ABORTS_ENGINE: engine,
      TEST_ABORTS_SEED: seed,
      ...(installed === null ? {} : { TEST_VLLM: installed.environment, TEST_VLLM_MODEL: installed.model }),
    },
  )
})
