import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import { announceUpload, readOffset, sendPart, sha256, startUpload } from '../support/tus.ts'

const tiny = readFileSync(resolve(import.meta.dirname, '../../../catalog/weights/berth-tiny.gguf'))

/** Mounts a small filesystem; false without the privilege. */
function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('what one organization announces takes no room from others', async ({ skip }) => {
  const server = await startTestServer({ worker: false, runtime: createScriptedRuntime() })
  onTestFinished(() => server.close())
  const folder = join(server.dataDirectory, 'models')
  await mkdir(folder)
  if (!mount(folder)) skip('only root can mount a small filesystem')
  onTestFinished(() => void execFileSync('umount', [folder]))
  const [one, other] = [await registerClient(server.url), await registerClient(server.url)]
  const location = await startUpload(one, 2_000_000)
  expect((await announceUpload(one, 2_000_000)).body.code, 'of the same one').toBe('storage_full')
  expect((await announceUpload(other, 2_500_000)).status).toBe(201)
  const third = await registerClient(server.url)
  expect((await sendPart(one, location, 0, tiny.subarray(0, 1_000))).status).toBe(204)
  expect((await announceUpload(third, 2_500_000)).status, 'after a few bytes').toBe(201)
})

test('a disk that fills during an upload is a 503 storage_full, and the upload goes on when it has room', async ({
  skip,
}) => {
  const server = await startTestServer({ worker: false, runtime: createScriptedRuntime() })
  onTestFinished(() => server.close())
  const folder = join(server.dataDirectory, 'models')
  await mkdir(folder)
  if (!mount(folder)) skip('only root can mount a small filesystem')
  onTestFinished(() => void execFileSync('umount', [folder]))
  const admin = await registerClient(server.url)
  const location = await startUpload(admin, tiny.length)
  const tooLarge = await announceUpload(admin, 3_000_000)
  expect([tooLarge.status, tooLarge.body.code]).toEqual([503, 'storage_full'])
  const ballast = join(folder, 'ballast')
  writeFileSync(ballast, Buffer.alloc(2_500_000))
  const full = await sendPart(admin, location, 0, tiny)
  expect([full.status, full.body.code]).toEqual([503, 'storage_full'])
  const offset = (await readOffset(admin, location))!
  expect(offset).toBeGreaterThan(1_000_000)
  rmSync(ballast)
  expect((await sendPart(admin, location, offset, tiny.subarray(offset))).status).toBe(204)
  expect(readdirSync(folder)).toContain(`${sha256(tiny)}.gguf`)
})
