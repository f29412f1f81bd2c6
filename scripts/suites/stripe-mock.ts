// Runs the Stripe client against Stripe's mock server, which validates requests. Needs Go 1.24 or later.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import getPort from 'get-port'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'
import { runSuite, waitForUrl } from './suite.ts'

/** The newest release. Its API version 2026-08-26.dahlia precedes that of our `stripe` package. */
const version = 'v0.203.0'

await runSuite('stripe-mock', async (cleanUps) => {
  const folder = findCacheFolder(`stripe-mock-${version}`)
  const program = join(folder, 'stripe-mock')
  if (!existsSync(program)) {
    await runCommand('go', ['install', `github.com/stripe/stripe-mock@${version}`], { GOBIN: folder })
  }
  const port = await getPort({ host: '127.0.0.1' })
  const address = `http://127.0.0.1:${port}`
  const mock = spawn(program, ['-http-addr', `127.0.0.1:${port}`], { stdio: 'ignore' })
  cleanUps.push(() => void mock.kill())
  await waitForUrl(address)
  await runCommand('vitest', ['run', '--project', 'system', 'server/test/adapters/stripe-mock.test.ts'], {
    STRIPE_MOCK_URL: address,
  })
})
