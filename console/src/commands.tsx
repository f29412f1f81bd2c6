import { useState } from 'react'
import { useBillingCommands } from './features/billing/commands.ts'
import { useCatalogCommands } from './features/catalog/commands.ts'
import { useDeploymentCommands } from './features/deployments/commands.ts'
import { useOrganizationCommands } from './features/organization/commands.ts'
import { useProfileCommands } from './features/profile/commands.ts'
import { CommandDialog } from './shell/command-dialog.tsx'

/** The command palette with the commands of every feature. */
export function Commands({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('')
  const commands = [
    ...useOrganizationCommands(),
    ...useBillingCommands(),
    ...useProfileCommands(),
    ...useDeploymentCommands(query),
    ...useCatalogCommands(),
  ]
  return <CommandDialog commands={commands} query={query} onQueryChange={setQuery} onClose={onClose} />
}
