package docker_test

const envVictim = "CADRE_TEST_DOCKER_VICTIM"

func victim(string) {}
