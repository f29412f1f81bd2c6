import { setTimeout as delay } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import type { Client } from './client.ts'

/** A deployment of the bundled model on a real engine. Read when the tests run. */
export interface AgentDeployment {
  serverUrl: string
  client: Client
  /** The model's name */
  model: string
  /** The deployment's id */
  id: string
  /** Whether completions can have `echo` */
  echoes: boolean
}

const question = 'What is 27 + 15?'
const schema = {
  type: 'object',
  properties: { sum: { type: 'integer' } },
  required: ['sum'],
  additionalProperties: false,
}
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
/** More than the context of any test. Anthropic's client wants a stream for more. */
const tooMany = 16_000

/** Defines tests of the routes that agents use, with unmodified clients. The bundled model must answer. */
export function testAgentRoutes(used: AgentDeployment): void {
  const connect = () => ({
    openai: new OpenAI({
      baseURL: `${used.serverUrl}/v1`,
      apiKey: 'any',
      defaultHeaders: { cookie: used.client.cookie() },
      maxRetries: 0,
    }),
    anthropic: new Anthropic({
      baseURL: used.serverUrl,
      authToken: 'any',
      apiKey: null,
      defaultHeaders: { cookie: used.client.cookie() },
      maxRetries: 0,
    }),
  })
  const readUsage = async () =>
    (await used.client.get(`/api/v1/model-deployments/${used.id}/usage`)).body as Record<string, number>

  /** The usage once that of earlier requests has arrived. */
  async function readSettledUsage(): Promise<Record<string, number>> {
    for (let last = await readUsage(); ;) {
      await delay(1_500)
      const next = await readUsage()
      if (next['requests'] === last['requests']) return next
      last = next
    }
  }

  /** Runs a request and expects that exactly these tokens are metered. */
  async function expectMetered<Answer>(
    ask: () => Promise<Answer>,
    count: (answer: Answer) => { input: number; output: number },
  ): Promise<Answer> {
    const before = await readSettledUsage()
    const answer = await ask()
    const { input, output } = count(answer)
    await expect.poll(readUsage).toMatchObject({
      requests: before['requests']! + 1,
      input_tokens: before['input_tokens']! + input,
      output_tokens: before['output_tokens']! + output,
    })
    return answer
  }
  const countMessage = ({ usage }: Anthropic.Message) => ({
    input:
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
    output: usage.output_tokens,
  })
  const countResponse = ({ usage }: OpenAI.Responses.Response) => ({
    input: usage!.input_tokens,
    output: usage!.output_tokens,
  })

  test('/v1/completions: lists of prompts and of tokens, a stream, and echo with log probabilities or a 400', async () => {
    const { openai } = connect()
    const { model } = used
    const prompts = ['a ship', 'the dog']
    const several = await openai.completions.create({ model, prompt: prompts, max_tokens: 2 })
    expect(several).toMatchObject({ model, choices: [{ index: 0 }, { index: 1 }] })
    const tokens = await openai.completions.create({ model, prompt: [[10, 11], [12]], max_tokens: 2 })
    expect(tokens.choices).toHaveLength(2)
    const asked = { model, prompt: 'a ship', max_tokens: 5 }
    const models = new Set<string>()
    const reasons: string[] = []
    for await (const chunk of await openai.completions.create({ ...asked, stream: true })) {
      models.add(chunk.model)
      for (const { finish_reason: reason } of chunk.choices) if (reason) reasons.push(reason)
    }
    expect([[...models], reasons]).toEqual([[model], [expect.stringMatching(/stop|length/)]])
    const echoed = openai.completions.create({ ...asked, max_tokens: 1, echo: true, logprobs: 1 })
    if (!used.echoes) {
      await expect(echoed).rejects.toMatchObject({ status: 400, param: 'echo' })
      return
    }
    const [choice] = (await echoed).choices
    expect(choice!.text).toMatch(/^a ship/)
    expect(choice!.logprobs!.token_logprobs!.length).toBeGreaterThan(1)
  })

  test('/v1/responses: whole and streamed, metered, limited, with a schema', async () => {
    const { openai } = connect()
    const asked = { model: used.model, temperature: 0, max_output_tokens: tooMany, input: question }
    const whole = await expectMetered(() => openai.responses.create(asked), countResponse)
    expect(whole).toMatchObject({ model: used.model, status: 'completed' })
    expect(whole.output_text).toContain('42')
    const streamed = await expectMetered(() => openai.responses.stream(asked).finalResponse(), countResponse)
    expect(streamed).toMatchObject({ model: used.model, status: 'completed' })
    expect(streamed.output_text).toBe(whole.output_text)
    const short = await openai.responses.create({ ...asked, max_output_tokens: 2 })
    expect(short).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    const format = { type: 'json_schema' as const, name: 'sum', schema, strict: true }
    const structured = await openai.responses.create({ ...asked, text: { format } })
    expect(JSON.parse(structured.output_text)).toEqual({ sum: expect.any(Number) })
  })

  test('/v1/responses: what Codex sends, and a required function', async () => {
    const { openai } = connect()
    const tool = { type: 'function', name: 'get_weather', parameters, strict: false }
    const body = {
      model: used.model,
      temperature: 0,
      instructions: 'You help.',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'The weather in Paris?' }] },
      ],
      tools: [
        tool,
        { type: 'namespace', name: 'city', description: 'A city', tools: [tool] },
        { type: 'web_search' },
      ],
      tool_choice: 'required',
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      client_metadata: { a: 'b' },
      store: false,
    }
    const called = await openai.responses.create(
      body as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming,
    )
    expect(called.output).toContainEqual(
      expect.objectContaining({ type: 'function_call', name: expect.stringContaining('get_weather') }),
    )
  })

  test('/v1/messages: whole and streamed, metered, limited, with a schema', async () => {
    const { anthropic } = connect()
    const messages = [{ role: 'user' as const, content: question }]
    const asked = { model: used.model, temperature: 0, max_tokens: tooMany, messages }
    const whole = await expectMetered(() => anthropic.messages.create(asked), countMessage)
    expect(whole).toMatchObject({ model: used.model, stop_reason: 'end_turn' })
    expect(whole.content).toMatchObject([{ type: 'text', text: expect.stringContaining('42') }])
    const streamed = await expectMetered(() => anthropic.messages.stream(asked).finalMessage(), countMessage)
    expect(streamed).toMatchObject({ model: used.model, stop_reason: 'end_turn' })
    expect(streamed.content).toMatchObject(whole.content.map(({ type }) => ({ type })))
    const short = await anthropic.messages.create({ ...asked, max_tokens: 2 })
    expect(short.stop_reason).toBe('max_tokens')
    const format = { type: 'json_schema' as const, schema }
    const structured = await anthropic.messages.create({ ...asked, output_config: { format } })
    expect(structured.content).toMatchObject([{ type: 'text' }])
    expect(JSON.parse((structured.content[0] as Anthropic.TextBlock).text)).toEqual({
      sum: expect.any(Number),
    })
  })

  test('/v1/messages: what Claude Code sends, its count, and a required tool', async () => {
    const { anthropic } = connect()
    const prompt = {
      model: used.model,
      system: [{ type: 'text' as const, text: 'You help.', cache_control: { type: 'ephemeral' as const } }],
      messages: [{ role: 'user' as const, content: 'The weather in Paris?' }],
      tools: [{ name: 'get_weather', input_schema: parameters as Anthropic.Tool.InputSchema }],
    }
    const counted = await anthropic.messages.countTokens(prompt)
    const short = await anthropic.messages.create({ ...prompt, max_tokens: 1 })
    expect(counted.input_tokens).toBe(countMessage(short).input)
    const hosted = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 }
    const withHosted = { ...prompt, tools: [...prompt.tools, hosted] }
    const { input_tokens: most } = await anthropic.messages.countTokens(withHosted as never)
    expect(most).toBeGreaterThanOrEqual(counted.input_tokens)
    const body = {
      ...withHosted,
      max_tokens: tooMany,
      temperature: 0,
      betas: ['claude-code-20250219'],
      thinking: { type: 'adaptive' },
      context_management: { edits: [] },
      output_config: { effort: 'high' },
      metadata: { user_id: 'u' },
      // A system text amid the conversation, at each turn
      messages: [...prompt.messages, { role: 'system', content: 'Today is Monday.' }],
      tool_choice: { type: 'tool', name: 'get_weather' },
    }
    for (const tools of [withHosted.tools, prompt.tools]) {
      const answer = await anthropic.beta.messages.stream({ ...body, tools } as never).finalMessage()
      expect(answer.content).toContainEqual(
        expect.objectContaining({ type: 'tool_use', name: 'get_weather' }),
      )
    }
  })

  test('errors have the shape of the route, and say that the context is too short', async () => {
    const { openai, anthropic } = connect()
    const long = 'word '.repeat(4000)
    const messages = [{ role: 'user' as const, content: long }]
    const words = /maximum context length is \d+ tokens, but the messages have (\d+ tokens|more)\. Shorten/
    const tooLong = { status: 400, code: 'context_length_exceeded', message: expect.stringMatching(words) }
    const { model } = used
    for (const stream of [false, true]) {
      const chat = openai.chat.completions.create({ model, messages, stream })
      await expect(chat).rejects.toMatchObject({ ...tooLong, param: 'messages' })
      const response = openai.responses.create({ model, input: long, stream })
      await expect(response).rejects.toMatchObject({ ...tooLong, param: expect.any(String) })
      const completion = openai.completions.create({ model, prompt: long, stream })
      await expect(completion).rejects.toMatchObject({
        ...tooLong,
        message: expect.stringMatching(/maximum context length is \d+ tokens, but the input has/),
      })
      const message = anthropic.messages.create({ model, max_tokens: 4, messages, stream })
      await expect(message).rejects.toMatchObject({
        status: 400,
        error: { type: 'error', error: { message: expect.stringMatching(words) } },
      })
    }
  })

  test('/tokenize counts the tokens of a text', async () => {
    const { status, body } = await used.client.post('/tokenize', { model: used.model, prompt: 'a ship' })
    expect([status, body.count > 0]).toEqual([200, true])
  })
}
