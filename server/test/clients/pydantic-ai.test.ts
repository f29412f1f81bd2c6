import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'

const run = promisify(execFile)
const python = join(process.env['TEST_PYDANTIC_AI'] ?? '', 'bin/python')
const script = join(import.meta.dirname, 'pydantic_ai_usage.py')

test('pydantic-ai adds up the usage of streams and whole answers as Berth bills it', async () => {
  const server = await startTestServer()
  try {
    const client = await registerClient(server.url)
    const { id } = await deploy(client)
    const environment = { ...process.env, BERTH_COOKIE: client.cookie() }
    const { stdout } = await run(python, [script, `${server.url}/v1`, id], { env: environment })
    const { pieces, streamed, whole } = JSON.parse(stdout)
    expect(pieces).toBeGreaterThan(5)
    expect(streamed.output).toBeGreaterThan(5)
    await expect
      .poll(async () => {
        const { body } = await client.get(`/api/v1/model-deployments/${id}/usage`)
        return [body.requests, body.input_tokens, body.output_tokens]
      })
      .toEqual([2, streamed.input + whole.input, streamed.output + whole.output])
  } finally {
    await server.close()
  }
})
