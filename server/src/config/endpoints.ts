import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { networkList, optionalText } from './values.ts'

/** How the server reaches the endpoints of organizations. */
export interface EndpointsConfig {
  /** Networks, besides the public ones, where endpoints may be, as `10.0.0.0/8` */
  networks: readonly string[]
  /** Certificates to trust besides the usual ones, as PEM; null for none */
  certificates: string | null
}

export const endpointsSettings = {
  ENDPOINT_NETWORKS: networkList,
  ENDPOINT_CA_FILE: optionalText,
}

export function readEndpoints(
  settings: z.output<z.ZodObject<typeof endpointsSettings>>,
  problems: string[],
): EndpointsConfig {
  const { ENDPOINT_NETWORKS: networks, ENDPOINT_CA_FILE: file } = settings
  return { networks, certificates: file === undefined ? null : readCertificates(file, problems) }
}

function readCertificates(file: string, problems: string[]): string | null {
  try {
    const certificates = readFileSync(file, 'utf8')
    requireCertificate(certificates)
    return certificates
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    problems.push(`ENDPOINT_CA_FILE: must be a file of certificates in PEM (${reason})`)
    return null
  }
}

/** Parses the first certificate. Throws without one. */
function requireCertificate(certificates: string): X509Certificate {
  return new X509Certificate(certificates)
}
