import type { CallFormat } from './call-format.ts'

/** What a template says about calls in words only: its text, and the format that its model was trained on. */
interface KnownFormat {
  isIn: (template: string) => boolean
  format: CallFormat
}

const jsonCall = (start: string, end: string, more: Partial<CallFormat> = {}): CallFormat => ({
  sectionStart: '',
  sectionEnd: '',
  separator: '\n',
  start: [`${start}{"name": "`],
  middle: ['", "arguments": '],
  end: [`}${end}`],
  arguments: { kind: 'json', keys: { name: 'name', arguments: 'arguments' } },
  allowsSeveral: true,
  marker: start.trim(),
  ...more,
})

/** Formats of models whose templates describe calls to the model, but render none. */
const knownFormats: readonly KnownFormat[] = [
  // Olmo 3: calls of Python, one on a line
  {
    isIn: (template) => template.includes('<function_calls>'),
    format: {
      sectionStart: '<function_calls>\n',
      sectionEnd: '\n</function_calls>',
      separator: '\n',
      start: [],
      middle: ['('],
      end: [')'],
      arguments: {
        kind: 'parameters',
        start: '',
        separator: ', ',
        text: { before: "='", after: "'" },
        other: { before: '=', after: '' },
        notation: 'python',
      },
      allowsSeveral: true,
      marker: '<function_calls>',
    },
  },
  // Phi-4-mini
  {
    isIn: (template) => template.includes('<|tool|>') || template.includes('<|/tool|>'),
    format: jsonCall('', '', {
      sectionStart: '<|tool_call|>[',
      sectionEnd: ']<|/tool_call|>',
      separator: ', ',
      start: ['{"name": "'],
      end: ['}'],
      marker: '<|tool_call|>',
    }),
  },
  // Llama Nemotron
  {
    isIn: (template) => template.includes('<TOOLCALL>'),
    format: jsonCall('', '', {
      sectionStart: '<TOOLCALL>[',
      sectionEnd: ']</TOOLCALL>',
      separator: ', ',
      start: ['{"name": "'],
      end: ['}'],
      marker: '<TOOLCALL>',
    }),
  },
  // SmolLM3 and others that follow Hermes
  {
    isIn: (template) => template.includes('<tool_call>'),
    format: jsonCall('<tool_call>\n', '\n</tool_call>'),
  },
]

/** The format that a template describes in words, or null. */
export function findKnownFormat(template: string): CallFormat | null {
  return knownFormats.find(({ isIn }) => isIn(template))?.format ?? null
}
