import { expect, test } from 'vitest'
import type { LoadedModel } from '../model/load-model.ts'
import { buildServer } from './server.ts'

test.each([false, true])(
  'a prompt that can not be read is an error also of a stream (%s)',
  async (stream) => {
    const sequence = {
      tokenMeter: { usedOutputTokens: 0 },
      nextTokenIndex: 0,
      adaptStateToTokens: async () => {},
      evaluateWithoutGeneratingNewTokens: () => Promise.reject(new Error('no memory')),
    }
    const chat = {
      wrapper: { generateContextState: () => ({ contextText: { tokenize: () => [1, 2, 3] } }) },
      contextSize: 100,
      canCallTools: false,
      pool: { acquire: async () => ({ sequence, pace: () => {} }), release: () => {} },
    }
    const { fastify, setModel, close } = buildServer({ key: 'k', log: () => {} })
    setModel({ aliases: ['m'], model: {}, chat } as unknown as LoadedModel)
    const { statusCode, body } = await fastify.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      headers: { authorization: 'Bearer k' },
      payload: { model: 'm', stream, messages: [{ role: 'user', content: 'Hello' }] },
    })
    expect([statusCode, JSON.parse(body).error.code]).toEqual([500, 'internal_error'])
    await close()
  },
)
