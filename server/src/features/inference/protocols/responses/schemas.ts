import { z } from 'zod'
import { modelField, modelOfResponse } from '../openai.ts'

/** Documentation of the body of a request for a response. */
export const responseRequest = z
  .looseObject({
    model: modelField,
    input: z
      .unknown()
      .describe(
        'A text, or a list of items: messages, `reasoning`, `function_call`, `custom_tool_call` and their outputs',
      ),
    instructions: z.string().nullish().describe('Instructions before the input'),
    max_output_tokens: z
      .int()
      .nullish()
      .describe('Most tokens of the answer; limited to what the context leaves'),
    tools: z
      .array(z.looseObject({}))
      .nullish()
      .describe(
        'Functions and custom tools, also inside `namespace` tools. Tools that OpenAI’s servers run are left out',
      ),
    tool_choice: z.unknown().optional().describe('Which functions the model may or must call'),
    text: z.looseObject({}).nullish().describe('`format` asks for JSON, or for JSON of a schema'),
    stream: z.boolean().nullish().describe('true for server-sent events'),
  })
  .meta({
    id: 'ResponseRequest',
    description:
      'As in OpenAI’s API, without state: `previous_response_id`, `conversation` and `background` are refused. Fields that only tune, store or cache are ignored.',
    examples: [{ model: 'berth-tiny', input: 'Hello!' }],
  })

/** Documentation of a response. */
export const responseObject = z
  .looseObject({
    id: z.string().describe('Id of the response, which is not stored'),
    object: z.literal('response').describe('Always `response`'),
    created_at: z.number().describe('Unix time in seconds'),
    status: z.string().describe('`completed`, `incomplete`, `failed` or `in_progress`'),
    model: modelOfResponse,
    output: z
      .array(z.looseObject({}))
      .describe('Items: `reasoning`, `message`, `function_call` and `custom_tool_call`'),
    usage: z
      .looseObject({
        input_tokens: z.int().describe('Tokens of the request'),
        output_tokens: z.int().describe('Tokens of the response'),
        total_tokens: z.int().describe('The sum'),
      })
      .nullish()
      .describe('Tokens that the request used; null while it goes on'),
  })
  .meta({ id: 'Response', description: 'An answer in the shape of OpenAI’s responses' })

/** Documentation of the events of a streamed response. */
export const responseEvent = z
  .looseObject({
    type: z.string().describe('Such as `response.output_text.delta`'),
    sequence_number: z.int().describe('Position in the stream'),
  })
  .meta({ id: 'ResponseEvent', description: 'An event of a streamed response' })
