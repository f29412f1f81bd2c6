import { RuleTester } from 'oxlint/plugins-dev'
import { describe, it } from 'vitest'
import { messageConditionsRule } from './message-conditions.ts'

RuleTester.describe = describe
RuleTester.it = it

const invalid = [
  // Each has decided about a deployment.
  'const isReported = isTerminating ? deployment.failure_reason === cleanupFailure : isRetry',
  'const isReported = isTerminating ? isCleanup : deployment.status_message === retryMessage',
  'if (change !== null || deployment.engine_url !== baseUrl || deployment.status_message !== message) update()',
  'const isCounted = deployment.status_message === stopping',
  'const changes = deployment.status_message === resizeMessage ? { status_message: null } : {}',
  "const isUnlisted = observation.phase === 'starting' && observation.message === notYetListed",
  'const describeStep = ({ message }) => message === selection_reason ? chosen : message',
  "const isInterrupted = ({ status, status_message }) => status === 'running' && status_message !== null",
  // Other forms of a condition
  "if (row.failureReason.startsWith('cleanup_failed')) retry()",
  "if (deployment.status_message?.includes('Retrying')) retry()",
  "const isRetry = (deployment.status_message ?? '').trim() === retryMessage",
  'switch (deployment.status_message) { case retryMessage: retry() }',
  'const isRetry = /Retrying/.test(event.message)',
  'const isKnown = messages.has(this.event.message)',
  "if (deployment['status_message']) retry()",
  'const isIdle = !deployment!.status_message',
  'const note = deployment.status_message ? 1 : 2',
  "const rows = db.selectFrom('deployments').where('status_message', '=', retryMessage)",
]

const valid = [
  "const isRetry = deployment.waiting_for === 'retry'",
  'const message = deployment.status_message ?? failure',
  'const event = { message: observation.message }',
  'const text = `${step.message} Retrying.`',
  "if (error.message.startsWith('Unrecognized')) retry()",
  "if (error instanceof Error && error.message === 'Connection terminated') reconnect()",
  "if (failure.message !== undefined && failure.status === 'True') report()",
  "const sentence = observation.message.replace(/\\.$/, '')",
]

new RuleTester({ languageOptions: { parserOptions: { lang: 'tsx' } } }).run(
  'message-conditions',
  messageConditionsRule,
  { valid, invalid: invalid.map((code) => ({ code, errors: 1 })) },
)
