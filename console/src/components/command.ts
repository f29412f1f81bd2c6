import type { LucideIcon } from 'lucide-react'

/** An entry that a feature adds to the command palette. */
export interface Command {
  /** The heading that lists the command. */
  group: 'actions' | 'deployments' | 'models'
  /** Unique within the palette. The search matches the id in addition to the label. */
  id: string
  icon: LucideIcon
  label: string
  /** Short text at the right end, such as a status. */
  hint?: string
  run: () => unknown
}
