import { installPython } from '../../tools/python.ts'

/** The last release of each major version, the newest first */
export const xinferenceVersions = ['4.1.0', '3.5.0', '2.12.0'] as const
const engine = 'xllamacpp==2026.10.11549'

/** Installs Xinference from PyPI (about 6 GB, mostly PyTorch). Returns its virtual environment's folder. */
export function installXinference(version: string): Promise<string> {
  return installPython(`xinference-${version}`, [`xinference==${version}`, engine])
}
