import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  clearInstallation,
  deleteInstallation,
  findInstaller,
  lockInstallation,
} from './installation-lock.ts'

async function makeRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'berth-lock-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  return root
}

test.each([
  ['a folder that nobody has', async () => {}],
  [
    'what a killed installer has left',
    async (folder: string) => {
      await mkdir(folder)
      await writeFile(join(folder, 'berth-installing.json'), JSON.stringify({ pid: 1, started: 'never' }))
      await writeFile(join(folder, 'half a file'), '')
    },
  ],
])('of ten installers at the same instant, one gets %s', async (_name, prepare) => {
  const root = await makeRoot()
  for (let round = 0; round < 5; round += 1) {
    const folder = join(root, `vllm-${round}`)
    await prepare(folder)
    const results = await Promise.all(Array.from({ length: 10 }, () => lockInstallation(folder)))
    expect(results.filter((other) => other === null)).toHaveLength(1)
    expect(new Set(results)).toEqual(new Set([null, process.pid]))
    await clearInstallation(folder)
    expect(await readdir(folder)).toEqual(['berth-installing.json'])
    expect(await findInstaller(folder)).toBe(process.pid)
    await deleteInstallation(folder)
  }
  expect(await readdir(root)).toEqual([])
})
