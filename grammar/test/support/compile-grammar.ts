import { getLlama } from 'node-llama-cpp'
import { toGrammarText } from '../../src/grammar.ts'
import type { Grammar } from '../../src/grammar.ts'

const llama = getLlama({ build: 'never', skipDownload: true, gpu: false, progressLogs: false })

/** Returns whether llama.cpp accepts a text as an answer to the grammar. */
export function compileGrammar(grammar: Grammar): Promise<(text: string) => boolean> {
  return compileText(toGrammarText(grammar))
}

/** The same for the text of a grammar. */
export async function compileText(text: string): Promise<(answer: string) => boolean> {
  const compiled = await (await llama).createGrammar({ grammar: text })
  const tester = compiled as unknown as { _testText: (answer: string) => boolean }
  return (answer) => tester._testText(answer)
}
