import { getLlama } from 'node-llama-cpp'
import { toGrammarText } from '../../src/grammar/grammar.ts'
import type { Grammar } from '../../src/grammar/grammar.ts'

const llama = getLlama({ build: 'never', skipDownload: true, gpu: false, progressLogs: false })

/** Returns whether llama.cpp accepts a text as an answer to the grammar. */
export async function compileGrammar(grammar: Grammar): Promise<(text: string) => boolean> {
  const compiled = await (await llama).createGrammar({ grammar: toGrammarText(grammar) })
  const tester = compiled as unknown as { _testText: (text: string) => boolean }
  return (text) => tester._testText(`${text}\n\n\n\n`)
}
