// Runs one step and kills its own process before the n-th PostgreSQL query.
import pg from 'pg'
import { createApplication } from '../../src/wiring/create-application.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/base/log.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import type { BillingStep } from './billing-steps.ts'
import type { KilledStep } from './killed-step.ts'

const input: KilledStep = JSON.parse(process.argv[2] ?? '')
const { steps }: { steps: Readonly<Record<string, BillingStep>> } = await import(`./${input.file}`)
let queries = 0
let isArmed = false
const client: { query: (...parameters: unknown[]) => unknown } = pg.Client.prototype
const send = client.query
client.query = function countedQuery(this: pg.Client, ...parameters: unknown[]) {
  if (isArmed && ++queries === input.killBefore) process.kill(process.pid, 'SIGKILL')
  return Reflect.apply(send, this, parameters)
}

const { clock } = input
const application = await createApplication(readConfig(process.env), {
  log: createLog({ level: 'silent' }, () => {}),
  clock: () => new Date('at' in clock ? clock.at : Date.now() + clock.ahead),
  runtime: createScriptedRuntime(),
})
isArmed = true
await steps[input.step]!(application, input.organization)
isArmed = false
process.stdout.write(String(queries))
await application.close()
