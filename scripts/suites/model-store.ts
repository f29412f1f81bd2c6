// Stores uploaded models in versitygw, which checks signatures as S3 does. Needs Go 1.25 or later.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import getPort from 'get-port'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'
import { runSuite, waitForUrl } from './suite.ts'

const version = 'v1.8.0'
const credentials = { AWS_ACCESS_KEY_ID: 'berth-test', AWS_SECRET_ACCESS_KEY: 'a-key-of-the-test' }

await runSuite('model-store', async (cleanUps) => {
  const folder = findCacheFolder(`versitygw-${version}`)
  const program = join(folder, 'versitygw')
  if (!existsSync(program)) {
    const source = `github.com/versity/versitygw/cmd/versitygw@${version}`
    await runCommand('go', ['install', source], { GOBIN: folder, GOFLAGS: '-buildvcs=false' })
  }
  const data = await mkdtemp(join(tmpdir(), 'berth-store-'))
  cleanUps.push(() => rm(data, { recursive: true, force: true }))
  const [objects, metadata] = [join(data, 'objects'), join(data, 'metadata')]
  await Promise.all([mkdir(objects), mkdir(metadata)])
  const port = await getPort({ host: '127.0.0.1' })
  const address = `http://127.0.0.1:${port}`
  const args = ['--port', `127.0.0.1:${port}`, 'posix', '--sidecar', metadata, objects]
  const store = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      ROOT_ACCESS_KEY: credentials.AWS_ACCESS_KEY_ID,
      ROOT_SECRET_KEY: credentials.AWS_SECRET_ACCESS_KEY,
    },
  })
  cleanUps.push(() => void store.kill())
  await waitForUrl(address)
  await runCommand('vitest', ['run', '--project', 'model-store'], { TEST_S3: address, ...credentials })
})
