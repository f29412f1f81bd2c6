import { buildServer } from '../../src/process/server.ts'
import type { BillingStep } from './billing-steps.ts'

/** The request of `REPEATED_REQUEST`, which may be killed at any query. */
export const steps = {
  async send(application) {
    const app = await buildServer(application)
    const { statusCode, body } = await app.inject(JSON.parse(process.env['REPEATED_REQUEST'] ?? ''))
    await app.close()
    if (statusCode >= 400) throw new Error(`the request was refused: ${body}`)
  },
} satisfies Record<string, BillingStep>
