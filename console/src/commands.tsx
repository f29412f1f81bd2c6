import { useCatalogCommands } from './features/catalog/commands.ts'
import { useDeploymentCommands } from './features/deployments/commands.ts'
import { useOrganizationCommands } from './features/organization/commands.ts'
import { CommandDialog } from './shell/command-dialog.tsx'

/** The command palette with the commands of every feature. */
export function Commands({ onClose }: { onClose: () => void }) {
  const commands = [...useCatalogCommands(), ...useOrganizationCommands(), ...useDeploymentCommands()]
  return <CommandDialog commands={commands} onClose={onClose} />
}
