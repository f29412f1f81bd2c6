import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findPythonTools } from './python-environment.ts'

/** Folders with a `python3` each: one that only its owner can enter, and one for everybody. */
async function makePythons() {
  const root = await mkdtemp(join(tmpdir(), 'berth-python-'))
  onTestFinished(() => rm(root, { recursive: true }))
  await chmod(root, 0o755)
  for (const [name, mode] of [
    ['home', 0o700],
    ['system', 0o755],
  ] as const) {
    await mkdir(join(root, name))
    await writeFile(join(root, name, 'python3'), '#!/bin/sh\necho 3.12.3\n', { mode: 0o755 })
    await chmod(join(root, name), mode)
  }
  const find = (path: string[], account: { uid: number; gid: number } | null) =>
    findPythonTools({
      environment: { PATH: path.map((name) => join(root, name)).join(':') },
      onProgress: () => {},
      title: 'vLLM',
      account,
      pythonFolder: join(root, 'pythons'),
    })
  return { root, find }
}

const engines = { uid: 64_000, gid: 64_000 }

test('engines get a Python that their account can read', async () => {
  const { root, find } = await makePythons()
  const both = ['home', 'system']
  expect(await find(both, engines)).toMatchObject({ program: join(root, 'system/python3') })
  expect(await find(both, null)).toMatchObject({ program: join(root, 'home/python3') })
  await expect(find(['home'], engines)).rejects.toThrow(
    `Engines run as the user id 64000, which can't read ${join(root, 'home/python3')}. Install Python 3.10`,
  )
})

test('uv takes the Python of the host that engines can read, or puts one where they can', async () => {
  const { root, find } = await makePythons()
  for (const name of ['home', 'system']) await writeFile(join(root, name, 'uv'), '', { mode: 0o755 })
  const onHost = await find(['system'], engines)
  expect(onHost).toMatchObject({ kind: 'uv', python: join(root, 'system/python3') })
  expect(onHost.environment).not.toHaveProperty('UV_PYTHON_INSTALL_DIR')
  const onlyInHome = await find(['home'], engines)
  expect(onlyInHome).toMatchObject({ kind: 'uv', python: null })
  expect(onlyInHome.environment).toMatchObject({ UV_PYTHON_INSTALL_DIR: join(root, 'pythons') })
  expect((await find(['home'], null)).environment).not.toHaveProperty('UV_PYTHON_INSTALL_DIR')
  for (const version of ['3.8.10', '3.14.0']) {
    await writeFile(join(root, 'system/python3'), `#!/bin/sh\necho ${version}\n`)
    expect(await find(['system'], engines)).toMatchObject({ python: null })
  }
})
