import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnEngine } from './engine-process.ts'

test('the heap of an engine stays close to what is in use', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-engine-process-'))
  try {
    const [program, logPath] = [join(folder, 'program.mjs'), join(folder, 'log')]
    await writeFile(program, 'console.log(process.execArgv.join())')
    const child = await spawnEngine({
      program,
      stateDirectory: folder,
      nonce: 'a',
      args: [],
      apiKey: 'key',
      environment: {},
      variables: {},
      logPath,
      rights: { account: null, prefix: [], cacheDirectory: folder },
    })
    await once(child, 'exit')
    expect(await readFile(logPath, 'utf8')).toMatch(
      /^--heap-growing-percent=\d+,--max-semi-space-size=\d+,--max-old-space-size=\d+\n$/,
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
