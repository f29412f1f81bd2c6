import { expect, test } from 'vitest'
import { diagnoseStart } from './engine-failures.ts'

test('an engine that was not built for the GPU and its driver fails at engine_startup, and says what to do', () => {
  const lines = [
    'llama.cpp error: CUDA error: the provided PTX was compiled with an unsupported toolchain.',
    'llama.cpp error:   cudaFuncGetAttributes(&attr, kernel)',
    'libllama.cuda.v0.5.0.so(_ZN13llama_context14process_ubatchERK12llama_ubatch14llm_graph_typeP22llama_memory_context_iR11ggml_status+0x135)[0x7f7ad9fe80e5]',
  ]
  expect(diagnoseStart(lines)).toEqual({
    stage: 'engine_startup',
    code: 'provider_error',
    message: expect.stringMatching(
      /^The engine was not built for this GPU and its driver\. Update .+toolchain\.$/,
    ),
  })
})

test('an engine whose log explains nothing may be restarted', () => {
  expect(diagnoseStart(['llama.cpp uses cuda'])).toBeNull()
})
