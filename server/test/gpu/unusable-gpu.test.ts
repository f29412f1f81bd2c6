import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  makeFolder,
  makeSettings,
  makeSpec,
  makeVariant,
  openRuntime,
  tinyModel,
} from '../adapters/local-runtime-support.ts'

const { PATH, LD_LIBRARY_PATH = '' } = process.env

/** A folder with a file that takes precedence over another of the same name. */
async function makeFile(name: string, content: string): Promise<string> {
  const folder = join(await makeFolder(), 'first')
  await mkdir(folder)
  await writeFile(join(folder, name), content)
  await chmod(join(folder, name), 0o755)
  return folder
}

const unknownGpu = `#!/bin/sh
echo '0, GPU-00000000-0000-0000-0000-000000000000, NVIDIA Test, 24576, 580.95.05'
`

test.each([
  {
    name: "CUDA's library can't be loaded",
    hide: async () => ({ LD_LIBRARY_PATH: `${await makeFile('libcudart.so.13', '')}:${LD_LIBRARY_PATH}` }),
  },
  {
    name: 'CUDA does not see the GPU',
    hide: async () => ({ PATH: `${await makeFile('nvidia-smi', unknownGpu)}:${PATH}` }),
  },
])('$name: the GPU is offered with the reason, and nothing starts on it', async ({ hide }) => {
  const folder = await makeFolder()
  const environment = { ...process.env, ...(await hide()) }
  const runtime = await openRuntime(makeSettings(folder, { environment }))
  const obstacle = expect.stringMatching(
    / \(driver .+\): not usable yet\. Berth's engine .+ Run: npm run admin/,
  )
  const offers = await runtime.listOffers()
  expect(offers.find(({ gpuCount }) => gpuCount === 1)).toMatchObject({ formats: [], obstacle })
  const spec = makeSpec(makeVariant({ kind: 'file', path: tinyModel }), {
    instanceType: offers[0]!.instanceType,
    gpuCount: 1,
  })
  expect(await runtime.provision(spec)).toEqual({
    outcome: 'refused',
    code: 'no_feasible_instance',
    message: obstacle,
  })
})
