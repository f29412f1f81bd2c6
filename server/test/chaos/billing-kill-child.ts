// Runs one billing step and kills its own process before the n-th PostgreSQL query.
import pg from 'pg'
import { createApplication } from '../../src/wiring/create-application.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/base/log.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { steps } from './billing-steps.ts'
import type { ChildInput } from './billing-steps.ts'

const input: ChildInput = JSON.parse(process.argv[2] ?? '')
let queries = 0
let isArmed = false
const client: { query: (...parameters: unknown[]) => unknown } = pg.Client.prototype
const send = client.query
client.query = function countedQuery(this: pg.Client, ...parameters: unknown[]) {
  if (isArmed && ++queries === input.killBefore) process.kill(process.pid, 'SIGKILL')
  return Reflect.apply(send, this, parameters)
}

const application = await createApplication(readConfig(process.env), {
  log: createLog({ level: 'silent' }, () => {}),
  clock: () => new Date(Date.now() + input.clockOffset),
  runtime: createScriptedRuntime(),
})
isArmed = true
await steps[input.step](application, input.organization)
isArmed = false
process.stdout.write(String(queries))
await application.close()
