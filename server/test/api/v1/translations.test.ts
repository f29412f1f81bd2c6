import { describe, expect, test } from 'vitest'
import { answerJson } from '../../support/recording-engine.ts'
import { useEngine } from '../../support/use-engine.ts'

const used = useEngine({})

/** Answers each chat with this message. */
function answerWith(message: object): void {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }]
  used.engine.answer((response) => answerJson(response, JSON.stringify({ choices })))
}

const authorized = () => ({ cookie: used.client.cookie(), 'content-type': 'application/json' })

/** Sends a body as it is written, and returns the texts of the engine's request and of the answer. */
async function ask(path: string, body: string): Promise<{ sent: string; status: number; answer: string }> {
  const text = body.replace('MODEL', used.id)
  const response = await fetch(`${used.server.url}${path}`, {
    method: 'POST',
    headers: authorized(),
    body: text,
  })
  const answer = await response.text()
  return { sent: used.engine.requests.at(-1)?.body ?? '', status: response.status, answer }
}

describe('numbers and the order of members', () => {
  const exact =
    '{"id": 2512292042121000001, "price": 10.00, "2": 1, "1": 1e400, "big": 12345678901234567890123}'

  test('calls, schemas and settings reach the engine as they were written', async () => {
    answerWith({ content: 'ok' })
    const schema = `{"type":"object","properties":{"2":{"maximum":18446744073709551615},"1":{"type":"number"}}}`
    const messages = `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input": ${exact}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"10.00"}]}]`
    const message = await ask(
      '/v1/messages',
      `{"model":"MODEL","max_tokens":5,"seed":9007199254740993,"messages":${messages},"tools":[{"name":"f","input_schema":${schema}}],"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`,
    )
    expect(message).toMatchObject({ status: 200 })
    expect(message.sent).toContain(`"arguments":${JSON.stringify(exact)}`)
    expect(message.sent).toContain(`"parameters":${schema}`)
    expect(message.sent).toContain(`"schema":${schema}`)
    expect(message.sent).toContain('"seed":9007199254740993')
    const response = await ask(
      '/v1/responses',
      `{"model":"MODEL","input":"q","seed":9007199254740993,"tools":[{"type":"function","name":"f","parameters":${schema}}],"text":{"format":{"type":"json_schema","name":"n","schema":${schema}}}}`,
    )
    expect(response).toMatchObject({ status: 200 })
    expect(response.sent).toContain(`"parameters":${schema}`)
    expect(response.sent).toContain('"seed":9007199254740993')
    // The response repeats the format.
    expect(response.answer).toContain(`"schema":${schema}`)
  })

  test('the input of a call reaches the caller as the model wrote it, also if it is no object', async () => {
    const body = '{"model":"MODEL","max_tokens":5,"messages":[{"role":"user","content":"q"}]}'
    const call = (json: string) => ({
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: json } }],
    })
    for (const [json, input] of [
      [exact, exact],
      ['', '{}'],
      ['{"city":"Par', '{"INVALID_JSON":"{\\"city\\":\\"Par"}'],
      ['[1]', '{"INVALID_JSON":"[1]"}'],
    ] as const) {
      answerWith(call(json))
      const { answer } = await ask('/v1/messages', body)
      expect(answer).toContain(`"input":${input}`)
    }
  })
})
