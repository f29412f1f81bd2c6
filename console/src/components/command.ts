import type { LucideIcon } from 'lucide-react'

/** An entry of the command palette. */
export interface Command {
  /** The heading that lists the command. */
  group: 'pages' | 'actions' | 'deployments' | 'members' | 'models'
  /** Unique within the palette. */
  id: string
  icon: LucideIcon
  label: string
  /** Words that the search finds in addition to those of the label. */
  keywords?: string
  /** Short text at the right end, such as a status. */
  hint?: string
  /** Only a search finds it; the palette doesn't list it when it opens. */
  searchOnly?: boolean
  run: () => unknown
}
