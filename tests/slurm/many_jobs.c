// SPDX-License-Identifier: GPL-3.0-or-later
// Submits jobs as fast as slurmctld takes them: sbatch needs 20 ms for each, which for 50,000 is a quarter of an hour.
//   many_jobs COUNT USERS PARTITION QOS NODES GRES MINUTES     as root, for each of USERS (a,b,c) in turn
// GRES "-": none. Each job takes whole nodes and would sleep.
#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  const struct passwd* users[32];
  int user_count = 0;
  for (char* name = strtok(argv[2], ","); name != NULL && user_count < 32; name = strtok(NULL, ",")) {
    struct passwd* entry = getpwnam(name);
    if (entry == NULL) return 3;
    struct passwd* copy = malloc(sizeof *copy);
    *copy = *entry;
    users[user_count++] = copy;
  }
  slurm_init(NULL);
  char* environment[] = {"PATH=/usr/bin:/bin", NULL};
  const int count = atoi(argv[1]);
  for (int i = 0; i < count; ++i) {
    job_desc_msg_t job;
    slurm_init_job_desc_msg(&job);
    job.name = "crowd";
    job.partition = argv[3];
    job.qos = argv[4];
    job.min_nodes = job.max_nodes = (uint32_t)atoi(argv[5]);
    if (strcmp(argv[6], "-") != 0) job.tres_per_node = argv[6];
    job.time_limit = (uint32_t)(atoi(argv[7]) + i % 7);
    job.shared = 0;  // exclusive
    job.user_id = users[i % user_count]->pw_uid;
    job.group_id = users[i % user_count]->pw_gid;
    job.work_dir = "/tmp";
    job.std_out = job.std_err = job.std_in = "/dev/null";
    job.environment = environment;
    job.env_size = 1;
    job.script = "#!/bin/sh\nsleep 100000\n";
    submit_response_msg_t* response = NULL;
    if (slurm_submit_batch_job(&job, &response) != 0) {
      fprintf(stderr, "after %d jobs: %s\n", i, slurm_strerror(slurm_get_errno()));
      return 1;
    }
    slurm_free_submit_response_response_msg(response);
  }
  return 0;
}
