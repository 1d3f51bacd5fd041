internal import VaultCommand

Main.run()
