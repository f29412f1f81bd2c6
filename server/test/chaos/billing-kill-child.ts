// One step of billing in a process of its own, which kills itself before the n-th query that it sends to PostgreSQL.
import pg from 'pg'
import { pino } from 'pino'
import { createApplication } from '../../src/create-application.ts'
import { readConfig } from '../../src/config.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { steps } from './billing-steps.ts'
import type { StepName } from './billing-steps.ts'

export interface ChildOrder {
  step: StepName
  organization: { organizationId: number; userId: number; email: string; organizationName: string }
  /** Milliseconds that the clock is ahead */
  ahead: number
  /** Which query is never sent; null: none, and the number of queries is written to the output */
  killBefore: number | null
}

const order: ChildOrder = JSON.parse(process.argv[2] ?? '')
let queries = 0
let isArmed = false
const client: { query: (...parameters: unknown[]) => unknown } = pg.Client.prototype
const send = client.query
client.query = function countedQuery(this: pg.Client, ...parameters: unknown[]) {
  if (isArmed && ++queries === order.killBefore) process.kill(process.pid, 'SIGKILL')
  return Reflect.apply(send, this, parameters)
}

const application = await createApplication(readConfig(process.env), {
  log: pino({ level: 'silent' }),
  clock: () => new Date(Date.now() + order.ahead),
  runtime: createScriptedRuntime(),
})
isArmed = true
await steps[order.step](application, order.organization)
isArmed = false
process.stdout.write(String(queries))
await application.close()
