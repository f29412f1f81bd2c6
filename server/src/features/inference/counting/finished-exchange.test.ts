import { expect, test } from 'vitest'
import { toLogMembers } from './finished-exchange.ts'
import { chatCompletions } from '../protocols/chat-completions.ts'

const exchange = {
  protocol: chatCompletions,
  requestId: '0d5c9f5e-0d7c-4f5b-8a3e-0b8f1f6f3f52',
  userId: 7,
  modelName: 'a "quoted"\nname',
  streams: true,
  retry: 0,
  deploymentId: '01a21c5f-a1db-77c9-a50f-ea1655dcc3cb',
  status: 200,
  brokenBy: null,
  usage: { inputTokens: 12, outputTokens: 34 },
  receivedAt: 100,
  waitedMilliseconds: 0,
  firstByteAt: 120.4,
  endedAt: 150.6,
  overheadMilliseconds: 1,
} as const

test('the access log has the facts of an exchange', () => {
  expect(JSON.parse(`{${toLogMembers(exchange)}}`)).toEqual({
    reqId: exchange.requestId,
    method: 'POST',
    route: '/v1/chat/completions',
    status: 200,
    ms: 51,
    first_byte_ms: 20,
    user: 7,
    deployment: exchange.deploymentId,
    model: exchange.modelName,
    stream: true,
    input_tokens: 12,
    output_tokens: 34,
    broken_by: null,
  })
})

test('what did not happen is null in the access log', () => {
  const refused = {
    ...exchange,
    deploymentId: null,
    brokenBy: 'engine',
    usage: null,
    firstByteAt: 0,
  } as const
  expect(JSON.parse(`{${toLogMembers(refused)}}`)).toMatchObject({
    deployment: null,
    first_byte_ms: null,
    input_tokens: null,
    output_tokens: null,
    broken_by: 'engine',
  })
})
