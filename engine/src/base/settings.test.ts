import { expect, test } from 'vitest'
import { parseSettings } from './settings.ts'

const validKey = 'a-key-of-some-length'
const validFlags = {
  '--state-dir': '/tmp/d',
  '--nonce': 'abcdef0123456789',
  '--model': '/tmp/m.gguf',
  '--alias': 'greeter,dep-1',
  '--type': 'chat',
  '--context': '2048',
  '--parallel': '4',
}

const toArgs = (changes: Record<string, string | null> = {}): string[] =>
  Object.entries({ ...validFlags, ...changes }).flatMap(([flag, value]) =>
    value === null ? [] : [flag, value],
  )

function mistakesOf(args: string[], key: string | undefined = validKey): string {
  const parsed = parseSettings(args, key)
  return parsed.ok ? '' : parsed.mistakes.join('\n')
}

test('parses a complete command line', () => {
  expect(
    parseSettings(
      toArgs({
        '--gpu-layers': '7',
        '--state-cache-mib': '64',
        '--state-cache-grows': 'yes',
        '--device': 'gpu',
      }),
      validKey,
    ),
  ).toEqual({
    ok: true,
    key: validKey,
    settings: {
      stateDirectory: '/tmp/d',
      nonce: 'abcdef0123456789',
      modelPath: '/tmp/m.gguf',
      aliases: ['greeter', 'dep-1'],
      type: 'chat',
      contextTokens: 2048,
      parallel: 4,
      gpuLayers: 7,
      requiresGpu: true,
      stateCacheBytes: 64 * 2 ** 20,
      stateCacheGrows: true,
    },
  })
})

test('lets llama.cpp choose the GPU layers by default', () => {
  const parsed = parseSettings(toArgs(), validKey)
  expect(parsed.ok && parsed.settings.gpuLayers).toBe('auto')
})

test('names every mistake', () => {
  const mistakes = mistakesOf(
    toArgs({ '--model': null, '--type': 'image', '--context': '1', '--parallel': 'two' }),
  )
  expect(mistakes).toContain('--model is required')
  expect(mistakes).toContain('--type must be "chat", "embedding" or "rerank", not "image"')
  expect(mistakes).toContain('--context must be an integer from 128')
  expect(mistakes).toContain('--parallel must be an integer')
})

test.each([[undefined], [''], ['short'], ['has spaces in its middle']])(
  'refuses the key %j without repeating it',
  (key) => {
    const parsed = parseSettings(toArgs(), key)
    expect(parsed.ok).toBe(false)
    if (!parsed.ok && key) expect(parsed.mistakes.join()).not.toContain(key)
  },
)

test('rejects unknown flags', () => {
  expect(mistakesOf([...toArgs(), '--api-key', 'x'])).toContain("Unknown option '--api-key'")
})
