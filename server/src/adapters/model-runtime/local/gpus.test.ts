import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createNvidiaReading, parseGpus, parseUse } from './gpus.ts'

const twoGpus = '0, GPU-aaaa-1, NVIDIA L4, 23034, 570.86.15\n1, GPU-bbbb-2, NVIDIA L4, 23034, 570.86.15\n'
const capabilities = 'GPU-aaaa-1, 8.9\nGPU-bbbb-2, 8.9\n'

function uuidsOf(lines: string, visible?: string): string[] {
  return parseGpus(lines, capabilities, visible).map(({ uuid }) => uuid)
}

test('each line of nvidia-smi is a GPU', () => {
  expect(parseGpus(twoGpus, capabilities, undefined)[1]).toEqual({
    uuid: 'GPU-bbbb-2',
    name: 'NVIDIA L4',
    memoryBytes: 23034 * 2 ** 20,
    vendor: 'nvidia',
    driverVersion: '570.86.15',
    computeCapability: 8.9,
  })
})

test('CUDA_VISIBLE_DEVICES filters the GPUs', () => {
  expect(uuidsOf(twoGpus)).toEqual(['GPU-aaaa-1', 'GPU-bbbb-2'])
  expect(uuidsOf(twoGpus, '1')).toEqual(['GPU-bbbb-2'])
  expect(uuidsOf(twoGpus, 'GPU-bbbb, 0')).toEqual(['GPU-aaaa-1', 'GPU-bbbb-2'])
  expect(uuidsOf(twoGpus, '')).toEqual([])
  expect(uuidsOf(twoGpus, '-1')).toEqual([])
})

test('lines that describe no usable GPU are skipped', () => {
  expect(uuidsOf('0, GPU-cccc, NVIDIA GB10, [N/A], 580.1\n')).toEqual([])
  expect(uuidsOf('0, GPU,cccc, NVIDIA L4, 23034\n')).toEqual([])
  expect(uuidsOf('No devices were found\n')).toEqual([])
})

test('the compute capability is unknown when nvidia-smi rejects the field', () => {
  const answers = ['', 'Field "compute_cap" is not a valid field to query.\n', twoGpus, 'GPU-aaaa-1, [N/A]\n']
  for (const answer of answers) expect(parseGpus(twoGpus, answer, '0')[0]?.computeCapability).toBeNull()
})

const mebibyte = 2 ** 20
const inUse = 'GPU-aaaa-1, 00000000:41:00.0, 21900, 75\nGPU-bbbb-2, 00000000:C1:00.0, 4, [N/A]\n'

test('nvidia-smi tells the memory in use, how busy a GPU is, and the programs that use it', () => {
  const programs =
    'GPU-aaaa-1, 4242, /usr/bin/python3, 21811\nGPU-aaaa-1, 77, /opt/a, b/tool, [N/A]\nNo running processes\n'
  expect(parseUse(inUse, programs).reading).toEqual({
    usedBytes: new Map([
      ['GPU-aaaa-1', 21_900 * mebibyte],
      ['GPU-bbbb-2', 4 * mebibyte],
    ]),
    utilization: new Map([['GPU-aaaa-1', 0.75]]),
    programs: [
      { uuid: 'GPU-aaaa-1', pid: 4242, name: '/usr/bin/python3', bytes: 21_811 * mebibyte },
      { uuid: 'GPU-aaaa-1', pid: 77, name: '/opt/a,b/tool', bytes: null },
    ],
  })
  expect(parseUse('GPU-a, 00000000:41:00.0, [N/A]\n', '').reading.usedBytes).toEqual(new Map([['GPU-a', 0]]))
})

/** A reading of GPUs, and a function that makes a shell script their nvidia-smi */
async function openDouble() {
  const folder = await mkdtemp(join(tmpdir(), 'berth-gpus-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'nvidia-smi')
  return {
    read: createNvidiaReading({ PATH: `${folder}:/usr/bin:/bin` }),
    write: async (script: string) => {
      await writeFile(path, `#!/bin/sh\n${script}\n`)
      await chmod(path, 0o755)
    },
  }
}

test('nonsense of nvidia-smi is no reading, and no GPU is lost by it', async () => {
  const { read, write } = await openDouble()
  expect(await read()).toBeNull()
  for (const script of ['', 'echo "Failed to initialize NVML: Driver/library version mismatch"; exit 18']) {
    await write(script)
    expect(await read()).toBeNull()
  }
  await write(`case $1 in *memory*) printf '${inUse.replaceAll('\n', '\\n')}' ;; esac`)
  expect((await read())?.usedBytes.size).toBe(2)
  await write('head -c 100000 /dev/urandom')
  expect(await read()).toBeNull()
})

test.each([
  'Unable to determine the device handle for GPU0000:C1:00.0: GPU is lost.  Reboot the system to recover this GPU',
  'Unable to determine the device handle for GPU1: 0000:C1:00.0: Unknown Error',
])('a GPU that has fallen off the bus is missing in the reading: %s', async (message) => {
  const { read, write } = await openDouble()
  await write(`case $1 in *memory*) printf '${inUse.replaceAll('\n', '\\n')}' ;; esac`)
  await read()
  await write(`echo '${message}'; exit 15`)
  expect([...(await read())!.usedBytes.keys()]).toEqual(['GPU-aaaa-1'])
  await write('echo "No devices were found"; exit 6')
  expect((await read())?.usedBytes.size).toBe(0)
})
